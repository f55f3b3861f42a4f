"""Pure text handling: tokens, stems, numbers and units, comparison of statements."""
