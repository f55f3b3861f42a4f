"""Other programs: setting up clients, their hooks, and the formats that memories come from and go to."""
