"""The only folder that knows LanceDB and Arrow."""

from reverie.storage.lancedb_import import import_lancedb

import_lancedb()  # the quick way, before a module of this folder imports it plainly
