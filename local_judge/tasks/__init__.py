"""Research tasks, the reports on them, and what is written for them.

    model                   a task, and what is written for it
    load                    tasks from JSONL, from a `dataset` with checklists, from `folders` of DEER
    folders, method_results, report_store
                            reports in the folders of published projects
    files                   the files that are joined to the tasks of a run
    dates                   dates that a task leaves open

What is written for a task is of one of five kinds:

    kinds                   what all kinds have in common: reading and writing files, joining to tasks, drafts
    guidance                what a good report must do (DEER)
    criteria                what reports are compared by (DeepResearch Bench)
    dimensions              what each report is judged by for itself (DeepResearchEval); `dimension_files`: other forms
    checklists              what a report has to deliver (LiveResearchBench)
    plans                   what a report is evaluated by (DREAM)
    *_draft                 how a judge drafts it; of plans, the questions are in `plan_asking`
    *_lint                  rules that code can decide; the wording of items: `checklist_rules`

    drafting                asking a judge about all tasks that have nothing of a kind
    review                  rows that a judge drafts and a person decides on
    rowfile, joining        files of rows, one a task; which row is whose
    topics, need            what a task is about, and whether it needs deep research
"""
