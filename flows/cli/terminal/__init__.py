"""What commands share: options, printing, progress, and an orderly end."""
