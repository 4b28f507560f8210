"""Research tasks, the reports on them, and the data written for them.

    model                   a task and its data
    load                    tasks from JSONL, from LiveResearchBench's dataset, from DEER's folders
    layouts                 reports in the files and folders of published projects
    files                   files that are joined to the tasks of a run
    dates                   dates that a task leaves open

The data of a task is of five kinds:

    kinds                   the common part of all kinds: reading and writing files, joining to tasks, drafts
    guidance                requirements for a good report (DEER)
    criteria                criteria for comparing reports (DeepResearch Bench)
    dimensions              dimensions for judging each report alone (DeepResearchEval)
    checklists              items that a report must deliver (LiveResearchBench)
    plans                   evaluation plans for reports, and transcripts of their drafting (DREAM)
    *_draft                 drafting by a judge; the prompts for plans are in `plan_asking`
    *_lint                  rules that code can decide

    drafting                asking a judge about all tasks without data of a kind
    review                  rows that a judge drafts and a person reviews
    rowfile                 files of rows, one per task, and the tasks that rows belong to
    topics                  topic of a task, and whether it needs deep research
"""
