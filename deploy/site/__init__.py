"""What script/docs builds the site of docs/ with, beside mkdocs."""
