"""The only folder that knows LanceDB and Arrow."""
