// SPDX-License-Identifier: MIT
#include "read/read_samples.hpp"

#include "support/elements.hpp"

#include <numeric>

namespace read_samples {

namespace cbor = support::cbor;
using support::bytes;
using support::little_endian;
using support::sample;

bytes floats(const std::vector<float>& values) {
    return little_endian(values);
}

bytes shorts(const std::vector<int>& values) {
    return little_endian(support::as<std::int16_t>(values));
}

std::vector<float> first_numbers(std::size_t count) {
    std::vector<float> values(count);
    std::iota(values.begin(), values.end(), 0.0F);
    return values;
}

sample twelve_floats() {
    return sample().shape({6, 2}).blob(floats(first_numbers(12)));
}

sample twelve_compressed(ztensor::version each) {
    return sample(each).shape({6, 2}).zstd_blob(support::zstd::frame_of(floats(first_numbers(12))), 48);
}

sample values_of_unknown_size() {
    const bytes values = support::zstd::frame_of(floats({1, 2, 3}));
    sample file(ztensor::version::v1_1);
    file.parts("sparse_coo", {5},
               {{"values", "f32", 64, values.size(), {{"encoding", cbor::text("zstd")}}}, {"coords", "u64", 128, 24}});
    return file.blobs({values, little_endian(0, 8) + little_endian(2, 8) + little_endian(4, 8)});
}

} // namespace read_samples
