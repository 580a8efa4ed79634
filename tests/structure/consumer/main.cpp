// SPDX-License-Identifier: MIT
//
// Writes a file and reads it back with everything included, with CONSUMER_IMPORTS by what reads any format. No test
// framework and no exception, so that it also builds with -fno-exceptions -fno-rtti. Takes the path of the file to
// write.
#include <ztensor/ztensor.hpp>
#if defined(CONSUMER_IMPORTS)
#include <ztensor/import.hpp>
#endif

#include <cstdio>
#include <vector>

namespace {

int fail(const ztensor::error& why) {
    std::fprintf(stderr, "%s\n", why.what().c_str());
    return 1;
}

ztensor::result<void> save(const char* path, const std::vector<float>& values) {
    auto out = ztensor::writer::create(path);
    if (!out) {
        return out.error();
    }
    const auto raw = out->add("raw", {2, 3}, values);
    if (!raw) {
        return raw.error();
    }
    const auto packed = out->add("packed", {2, 3}, values, ztensor::store().zstd(1).digest(ztensor::digest::sha256));
    if (!packed) {
        return packed.error();
    }
    const auto finished = out->finish();
    if (!finished) {
        return finished.error();
    }
    return {};
}

ztensor::result<ztensor::reader> open(const char* path) {
#if defined(CONSUMER_IMPORTS)
    return ztensor::open_any(path);
#else
    return ztensor::reader::open(path);
#endif
}

} // namespace

int main(int argc, char** argv) {
    if (argc != 2) {
        return 2;
    }
    const std::vector<float> values = {1, 2, 3, 4, 5, 6};
    const auto saved = save(argv[1], values);
    if (!saved) {
        return fail(saved.error());
    }
    const auto model = open(argv[1]);
    if (!model) {
        return fail(model.error());
    }
    for (const char* name : {"raw", "packed"}) {
        const auto read = model->read<float>(name);
        if (!read) {
            return fail(read.error());
        }
        if (*read != values) {
            std::fprintf(stderr, "%s was read back differently\n", name);
            return 1;
        }
    }
    if (model->read<float>("absent").has_value()) {
        return 1;
    }
    std::puts("written and read back");
    return 0;
}
