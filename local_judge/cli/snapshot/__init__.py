"""`local-judge snapshot`: the frozen web."""

from __future__ import annotations

import typer

from local_judge.cli.snapshot import fetch, look, make, mcp, search

app = typer.Typer(help="Make, describe, verify and search snapshots of the web.", no_args_is_help=True)
app.command("import")(make.import_)
app.command("fetch")(fetch.fetch)
app.command("merge")(make.merge)
app.command("export")(make.export)
app.command("info")(look.info)
app.command("page")(look.page)
app.command("pages")(look.pages)
app.command("verify")(look.verify)
app.command("diff")(look.diff)
app.command("search")(search.search)
app.command("index")(search.index)
app.command("evaluate")(search.evaluate_)
app.command("mcp")(mcp.mcp)
