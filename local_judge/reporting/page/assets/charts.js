// Charts. Each has a text alternative and a table with the same numbers.

function chartSections() {
  return [];
}
