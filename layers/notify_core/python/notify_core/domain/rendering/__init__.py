"""Rendering: from a definition's templates and a publication's data to what each channel shows."""

from notify_core.domain.rendering.content import ChatContent, Content, TextContent, render
from notify_core.domain.rendering.engine import CannotRender

__all__ = ["CannotRender", "ChatContent", "Content", "TextContent", "render"]
