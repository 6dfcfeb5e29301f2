-- Datasets of the newest generation that a server does not serve yet; nothing where it serves no catalogue.
ALTER TABLE server ADD COLUMN lacking integer;
