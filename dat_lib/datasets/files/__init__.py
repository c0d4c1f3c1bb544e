"""Files of datasets: fetched, unpacked, found, read and decoded within bounds."""
