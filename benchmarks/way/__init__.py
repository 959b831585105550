"""The way of one message through our code, counted: ``make bench ARGS=way``."""
