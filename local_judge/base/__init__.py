"""Ground floor of all packages: frozen models, errors, strict readers, wording of problems."""
