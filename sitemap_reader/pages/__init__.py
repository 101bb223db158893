"""The HTML pages: templates, one style sheet, scripts, and what renders them so that text of a site stays text."""
