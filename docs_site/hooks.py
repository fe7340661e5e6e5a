"""MkDocs hooks: they add the pages from outside ``docs/``, and rewrite links; see ``links``."""

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page

from docs_site.links import linked, outside_pages


def on_files(files: Files, config: MkDocsConfig) -> Files:
    for path, markdown in outside_pages().items():
        files.append(File.generated(config, path, content=markdown))
    return files


def on_page_markdown(markdown: str, page: Page, config: MkDocsConfig, files: Files) -> str:
    """Rewrite the links of pages in ``docs/``; those from outside are rewritten already."""
    if page.file.generated_by:
        return markdown
    return linked(markdown, f"docs/{page.file.src_uri}")
