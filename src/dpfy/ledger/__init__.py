"""Who has spent what on whom: accounts, caps, reservations and a journal that can be replayed."""
