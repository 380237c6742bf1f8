"""ONNX models as bytes, for the tests of the Python package."""
import base64

TINY = base64.b64decode(  # y = relu(x w + b); the model of the guide's page onnx.md
    "CAg6uQEKJAoBeAoJZmMud2VpZ2h0CgdmYy5iaWFzEgFoGgJmYyIER2VtbQoRCgFoEgF5GgNhY3QiBFJlbHUSBHRpbnkqKwgDCAIQAUIJZmMud2VpZ2h0ShgAAIA/AACAvwAAAEAA"
    "AAA/AAAAAAAAgD8qFwgCEAFCB2ZjLmJpYXNKCAAAAD8AAADAWhgKAXgSEwoRCAESDQoHEgViYXRjaAoCCANiGAoBeRITChEIARINCgcSBWJhdGNoCgIIAkIECgAQEQ==")


STRINGS = base64.b64decode(  # y = x + "!", B = x == "b", I: the number of x, c: that as a string; strings of tests/fuzz/corpus/onnx
    "CAo6oAIKFwoBeAoBcxIBeSIMU3RyaW5nQ29uY2F0ChAKAXgKAXcSAUIiBUVxdWFsCmcKAXgSAUkiDExhYmVsRW5jb2RlcioXCgxrZXlzX3N0cmluZ3NKAWFKAWKgAQgqFgoNdmFsdWVz"
    "X2ludDY0c0AKQBSgAQcqFAoNZGVmYXVsdF9pbnQ2NBgAoAECOgphaS5vbm54Lm1sChcKAUkSAWMiBENhc3QqCQoCdG8YCKABAhIBZyoKCAEQCDIBIUIBcyoIEAgyAWJCAXdaEAoBeBIL"
    "CgkICBIFCgMSAW5iEAoBeRILCgkICBIFCgMSAW5iEAoBQhILCgkICRIFCgMSAW5iEAoBSRILCgkIBxIFCgMSAW5iEAoBYxILCgkICBIFCgMSAW5CBAoAEBRCDgoKYWkub25ueC5tbBAE")
