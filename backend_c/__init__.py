"""The C back end: tensor IR -> loop IR (`lower`, `ownership`) -> C text (`emit`)."""
