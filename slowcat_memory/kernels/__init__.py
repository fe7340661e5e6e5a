"""Arithmetic over flat arrays in one compiled library, and the same in NumPy where there is none.

A module here has one subject: beside its C file it declares the functions, prepares their arguments
and holds the NumPy reference, which defines the result and runs where the library is missing.
*Not for:* deciding anything; what a kernel computes is settled by its arguments.
"""
