"""A customer played by a language model, from the same script and under the same contract."""
