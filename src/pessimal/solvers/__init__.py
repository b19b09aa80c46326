"""Solvers of tuning problems."""
