"""Keep compiled variants on disk, so that later processes do not read Python again."""
