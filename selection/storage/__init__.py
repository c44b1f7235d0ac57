"""Where bytes come from and go to: an input proved unchanged, an output that is whole."""
