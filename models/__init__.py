"""models: the one way to a language model. A request goes in, a reply comes out."""
