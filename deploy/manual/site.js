// What scrolls can be scrolled by the keyboard, and a corner of a table is no heading.
document$.subscribe(() => {
  for (const wide of document.querySelectorAll(".md-typeset pre > code, .md-typeset__scrollwrap"))
    wide.tabIndex = 0;
  for (const corner of document.querySelectorAll(".md-typeset th:empty"))
    corner.replaceWith(document.createElement("td"));
});
