"""Builds the documentation: pages of the site, generated pages, pictures, and a check of links."""
