"""`local-judge snapshot search` and `index`: search in snapshots."""

from __future__ import annotations

import json
from collections.abc import Sequence
from datetime import datetime
from pathlib import Path
from typing import Annotated

import typer
from pydantic import ValidationError
from rich.table import Table

from indexes.corpus import Corpus, Filters, Hit
from indexes.making.reindexing import reindex
from indexes.search.dense import DenseSettings
from indexes.search.encoder import PRESETS, Encoder, EncoderPreset
from indexes.search.endpoint import EndpointEncoder
from indexes.search.errors import QueriesRefused
from indexes.search.fusion import FusionSettings
from indexes.search.local import CrossEncoder, LocalEncoder
from indexes.search.quality import MEASURES, Quality, evaluate, read_queries, under_own_urls
from indexes.search.searcher import Mode
from indexes.search.weights import Bm25Settings, Method
from indexes.snapshot import Snapshot
from local_judge.base.errors import UserError, first_problem
from local_judge.base.files import read_utf8
from local_judge.cli.options import QUERIES, AsJson, Seed, refuse
from local_judge.cli.output import print_json
from local_judge.cli.snapshot.look import AsOf, SearchMode, SnapshotPath, day
from local_judge.terminal import plain_table, safe, stdout

Model = Annotated[
    Path | None,
    typer.Option(
        "--model", help="Folder of an embedding model. Default: the packaged MiniLM (extra `dense`)."
    ),
]
Preset = Annotated[
    str | None,
    typer.Option("--preset", help=f"Prompts and pooling of the model: {', '.join(sorted(PRESETS))}."),
]
Endpoint = Annotated[
    str | None,
    typer.Option(
        "--embeddings-url",
        help="Compute embeddings on an OpenAI-compatible server (vLLM), http://HOST:PORT/v1.",
    ),
]
ServedAs = Annotated[
    str | None, typer.Option("--embeddings-model", help="Name of the model on the embeddings server.")
]
Revision = Annotated[
    str | None,
    typer.Option("--revision", help="Commit or digest of the server's weights, stored in the index."),
]
From = Annotated[
    datetime | None,
    typer.Option("--published-from", formats=["%Y-%m-%d"], help="Earliest day of publication."),
]
To = Annotated[
    datetime | None, typer.Option("--published-to", formats=["%Y-%m-%d"], help="Latest day of publication.")
]
_DEPTH = 100
"""Number of chunks ranked per query in an evaluation."""
_SHOWN = 200
"""Maximum characters of a passage in the table."""


def search(
    snapshot: SnapshotPath,
    query: Annotated[
        list[str] | None, typer.Argument(help="Query; several queries are searched as one batch.")
    ] = None,
    queries: Annotated[Path | None, QUERIES] = None,
    k: Annotated[int, typer.Option("-k", min=1, help="Number of chunks returned per query.")] = 5,
    mode: SearchMode = "bm25",
    as_of: AsOf = None,
    published_from: From = None,
    published_to: To = None,
    host: Annotated[
        list[str] | None,
        typer.Option("--host", help="Search only this host and its subdomains; repeatable."),
    ] = None,
    language: Annotated[
        list[str] | None, typer.Option("--language", help="Search only this ISO 639-1 language; repeatable.")
    ] = None,
    fusion: Annotated[
        str, typer.Option("--fusion", help="Fusion method of mode fused: `rrf`, or `convex` with --alpha.")
    ] = "rrf",
    alpha: Annotated[
        float,
        typer.Option("--alpha", min=0, max=1, help="Weight of the dense score in `convex`, from 0 to 1."),
    ] = 0.5,
    rerank: Annotated[
        Path | None, typer.Option("--rerank", help="Folder of a cross-encoder that reranks the first chunks.")
    ] = None,
    rerank_depth: Annotated[
        int, typer.Option("--rerank-depth", min=1, help="Number of chunks that the cross-encoder reranks.")
    ] = 50,
    model: Model = None,
    preset: Preset = None,
    embeddings_url: Endpoint = None,
    embeddings_model: ServedAs = None,
    revision: Revision = None,
    evaluating: Annotated[
        bool,
        typer.Option(
            "--evaluate",
            help="Measure how well each search mode with an index finds the pages that --queries name as `relevant`.",
        ),
    ] = False,
    seed: Seed = 0,
    as_json: AsJson = False,
) -> None:
    """Search all chunks of a snapshot, offline, or measure how well the search finds known pages."""
    asked = [*(query or []), *(query_lines(queries) if queries is not None else [])]
    if not asked:
        raise typer.BadParameter("give a query, or a file of them with --queries")
    opened = Snapshot.open(snapshot)
    corpus = opened.corpus(
        encoder=_encoder(model, preset, embeddings_url, embeddings_model, revision),
        fusion=_fusion(fusion, alpha),
        scorer=None if rerank is None else CrossEncoder(rerank),
        depth=rerank_depth,
    )
    try:
        filters = Filters(
            as_of=day(as_of),
            published_from=day(published_from),
            published_to=day(published_to),
            hosts=tuple(host or ()),
            languages=tuple(language or ()),
        )
    except ValidationError as error:
        raise UserError(first_problem(error, "the filters", Filters)) from None
    if evaluating:
        refuse({"QUERY": bool(query), "-k": k != 5, "--mode": mode != "bm25"}, "--evaluate")
        refuse({"a filter": filters != Filters()}, "--evaluate")
        if queries is None:
            raise typer.BadParameter("--evaluate needs --queries, with `query` and `relevant`")
        _evaluate(opened, corpus, queries, seed, as_json)
        return
    refuse({"--seed": seed != 0}, "a search")
    found = corpus.search(asked, k, mode, filters)
    for one, hits in zip(asked, found, strict=True):
        if as_json:
            said = [hit.model_dump(mode="json") for hit in hits]
            found_for = {"query": one, "mode": mode, "hits": said}
            print_json(found_for)
        else:
            stdout().print(_hits(one, hits))


def index(
    snapshot: SnapshotPath,
    dense: Annotated[bool, typer.Option("--dense", help="Also build the dense index.")] = False,
    method: Annotated[Method, typer.Option("--bm25", help="Variant of BM25.")] = "lucene",
    k1: Annotated[
        float, typer.Option("--k1", min=0, help="BM25 parameter k1: saturation of term frequency.")
    ] = 1.5,
    b: Annotated[
        float, typer.Option("--b", min=0, max=1, help="BM25 parameter b: length normalisation.")
    ] = 0.75,
    stemming: Annotated[
        bool, typer.Option("--stemming/--no-stemming", help="Reduce words to their stems.")
    ] = True,
    model: Model = None,
    preset: Preset = None,
    embeddings_url: Endpoint = None,
    embeddings_model: ServedAs = None,
    revision: Revision = None,
    kind: Annotated[
        str,
        typer.Option(
            "--faiss", help="Faiss index: `flat` (exact), `ivf`, or `auto` (flat for small indexes)."
        ),
    ] = "auto",
    as_json: AsJson = False,
) -> None:
    """Rebuild a snapshot's search indexes, or add a dense index. The snapshot's digest does not change."""
    if kind not in ("auto", "flat", "ivf"):
        raise typer.BadParameter(f"--faiss {kind!r}: expected auto, flat or ivf")
    encoder = _encoder(model, preset, embeddings_url, embeddings_model, revision)
    reindex(
        snapshot,
        words=Bm25Settings(method=method, k1=k1, b=b, stemming=stemming),
        encoder=(encoder or LocalEncoder()) if dense or encoder is not None else None,
        meanings=DenseSettings(index=kind),
    )
    infos = Snapshot.open(snapshot).info().indexes
    if as_json:
        print_json(infos)
        return
    table = plain_table(texts=("index", "chunks", "settings"))
    for name, info in infos.items():
        made = {key: info[key] for key in ("settings", "encoder", "versions") if key in info}
        table.add_row(name, f"{info['n_chunks']:,}", safe(json.dumps(made, ensure_ascii=False)))
    stdout().print(table)


def _evaluate(opened: Snapshot, corpus: Corpus, queries: Path, seed: int, as_json: bool) -> None:
    """Print how well each search mode with an index finds the pages that are known to be relevant."""
    judged = [
        under_own_urls(one, lambda url: corpus.shown_as(opened.page(url))) for one in read_queries(queries)
    ]
    asked = [one.query for one in judged]
    modes: list[Mode] = ["bm25", "dense", "fused"] if "dense" in corpus.infos else ["bm25"]
    found: dict[Mode, Quality] = {
        one: evaluate(judged, corpus.search_pages(asked, _DEPTH, one), seed=seed) for one in modes
    }
    lacking = _not_in(opened, [url for one in judged for url in one.relevant])
    if as_json:
        said = {one: quality.model_dump(mode="json") for one, quality in found.items()}
        made = {"snapshot": opened.digest, "indexes": opened.info().indexes}
        print_json({**made, "relevant_not_in_snapshot": lacking, "modes": said})
        return
    some = next(iter(found.values()))
    print(f"{some.n_queries} queries; 95% bootstrap intervals of {some.replicates:,} draws, seed {some.seed}")
    stdout().print(_qualities(found))
    if lacking:
        print(f"{lacking} relevant URLs have no text in the snapshot, so no search can find them")


def _encoder(
    model: Path | None, preset: str | None, url: str | None, served_as: str | None, revision: str | None
) -> Encoder | None:
    """Return the encoder that the options name, or None for the packaged one."""
    chosen: EncoderPreset | None = None
    if preset is not None:
        if preset not in PRESETS:
            raise UserError(f"unknown embedding preset {preset!r}; choose from {', '.join(sorted(PRESETS))}")
        chosen = PRESETS[preset]
    if url is not None:
        if served_as is None or revision is None:
            raise UserError(
                "--embeddings-url needs --embeddings-model and --revision (the index stores both)"
            )
        return EndpointEncoder(url, served_as, revision=revision, preset=chosen)
    if model is not None:
        return LocalEncoder(model, preset=chosen)
    if chosen is not None:
        raise UserError(f"--preset {preset} needs --model or --embeddings-url")
    return None


def _fusion(method: str, alpha: float) -> FusionSettings:
    if method not in ("rrf", "convex"):
        raise typer.BadParameter(f"--fusion {method!r}: expected rrf or convex")
    return FusionSettings(method=method, alpha=alpha)


def query_lines(path: Path) -> list[str]:
    """Return the queries of a file, one per line or as JSONL. Raises QueriesRefused."""
    try:
        lines = read_utf8(path).splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise QueriesRefused(f"cannot read the queries in {path}: {error}") from None
    found: list[str] = []
    for line in filter(str.strip, lines):
        if line.lstrip().startswith("{"):
            try:
                found.append(str(json.loads(line)["query"]))
            except (ValueError, KeyError, TypeError, RecursionError):
                raise QueriesRefused(f"{path}: {line[:80]!r} has no key `query`") from None
        else:
            found.append(line.strip())
    return found


def _hits(query: str, hits: Sequence[Hit]) -> Table | str:
    if not hits:
        return f"{safe(query)}: nothing found"
    table = plain_table(safe(query))
    table.add_column("", justify="right")
    table.add_column("score", justify="right")
    table.add_column("published")
    table.add_column("page and passage", overflow="fold")
    for hit in hits:
        passage = f"{safe(hit.original_url)}\n[dim]{safe(' '.join(hit.chunk.text.split()), _SHOWN)}[/dim]"
        table.add_row(str(hit.rank), f"{hit.score:.4f}", safe(hit.published or ""), passage)
    return table


def _qualities(found: dict[Mode, Quality]) -> Table:
    table = plain_table(texts=("",), numbers=list(found))
    for measure in MEASURES:
        cells = [
            f"{q.means[measure].mean:.3f} ({q.means[measure].low:.3f} to {q.means[measure].high:.3f})"
            for q in found.values()
        ]
        table.add_row(measure, *cells)
    return table


def _not_in(snapshot: Snapshot, urls: Sequence[str]) -> int:
    return sum(snapshot.page(url).status != "ok" for url in dict.fromkeys(urls))
