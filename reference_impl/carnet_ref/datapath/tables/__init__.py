"""Published figures beside the model's: what was fitted, what was predicted, and how far off the prediction is."""
