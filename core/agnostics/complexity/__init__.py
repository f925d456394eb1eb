"""Complexity: the class of a program's processor time and memory, from runs at growing sizes of its input."""

from agnostics.complexity.classes import ComplexityClass, complexity_in
from agnostics.complexity.fit import ClassFit, Curve, fit_class
from agnostics.complexity.measurement import Measurement, MeasurementError, MeasurementLimits, Quantity, measure

__all__ = [
    "ClassFit",
    "ComplexityClass",
    "Curve",
    "Measurement",
    "MeasurementError",
    "MeasurementLimits",
    "Quantity",
    "complexity_in",
    "fit_class",
    "measure",
]
