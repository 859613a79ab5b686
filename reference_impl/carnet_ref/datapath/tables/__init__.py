"""Tables that compare published figures with those of the model: fitted, predicted, and the error of predictions."""
