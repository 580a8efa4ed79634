// SPDX-License-Identifier: MIT
//
// A program that was built without nlohmann/json and zlib opens what needs neither, and says of the rest what is lacking.
#include <ztensor/foreign.hpp>
#include <ztensor/reader_set.hpp>

#include <cstdio>
#include <string>

namespace {

int failures = 0;

void expect(const std::string& what, const ztensor::result<void>& done, const char* code) {
    const std::string found = done ? "ok" : std::string(name(done.error().code()));
    if (found != code || (!done && done.error().sentence().find("built without") == std::string::npos)) {
        std::printf("%s: %s, not %s\n", what.c_str(), found.c_str(), code);
        ++failures;
    }
}

void expect_open(const char* path, const char* code) {
    const auto file = ztensor::open_any(std::string("tests/corpus/foreign/") + path);
    expect(path, file ? ztensor::result<void>() : file.error(), code);
}

} // namespace

int main() {
    expect_open("safetensors/one.safetensors", "ok"); // plain enough
    expect_open("safetensors/every_dtype.safetensors", "not_built_in");
    expect_open("npy/f32.npy", "ok");
    expect_open("npz/stored.npz", "ok");
    expect_open("npz/compressed.npz", "not_built_in");
    return failures == 0 ? 0 : 1;
}
