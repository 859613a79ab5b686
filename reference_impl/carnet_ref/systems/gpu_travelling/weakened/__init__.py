"""Weakened designs: what a role does where one of its defences is off, apart from the roles that have them all.

A module for each part of a role maps defences to alternatives: subclasses that do one step otherwise. Designs that
lack several defences combine them. Only tests and replays of attacks ask for any of these.
"""
