"""From the setting REVERIE_EMBEDDER to an embedder."""

from reverie.embeddings.bundled import BundledEmbedder
from reverie.embeddings.embedder import Embedder
from reverie.errors import SettingError
from reverie.settings import BUNDLED_EMBEDDER, EMBEDDER, Settings


def embedder_from(settings: Settings) -> Embedder:
    """Name the embedder that the settings ask for; nothing is loaded until it is used.

    Raises:
        SettingError: if no embedder has that name.
    """
    if settings.embedder == BUNDLED_EMBEDDER:
        return BundledEmbedder()
    provider, _, model = settings.embedder.partition(":")
    if provider == "openai" and model.strip():
        from reverie.embeddings.hosted import HostedEmbedder

        return HostedEmbedder(model.strip())
    raise SettingError(EMBEDDER.variable, settings.embedder, EMBEDDER.takes)
