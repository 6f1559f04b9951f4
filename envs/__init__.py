"""Episodes, and the Gymnasium environments around them."""
