"""Make a function of a sequence into one of its chunks: the values that its loops along the time carry become state."""
