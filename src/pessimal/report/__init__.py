"""Tables, figures and one self-contained page, made from stored rows alone."""
