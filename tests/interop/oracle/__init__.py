"""A second, independent reader and hand encoder of zTensor files, to test the C++ library against."""
