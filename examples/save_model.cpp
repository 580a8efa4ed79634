// SPDX-License-Identifier: MIT
//
// save_model [OUT]: writes a small model with everything a file can hold: dense tensors raw and compressed, half
// floats, a sparse matrix, a quantized weight, a tensor in pieces, attributes.
#include <ztensor/ztensor.hpp>

#include <cstdint>
#include <iostream>
#include <string>
#include <vector>

namespace {

void save(const std::string& path) {
    auto out = ztensor::writer::create(path).value();
    out.attributes(ztensor::to_attributes({{"license", "MIT"}, {"layers", 2}, {"tags", {"demo", "tiny"}}}).value())
        .value();

    const std::vector<float> weights = {1.0F, -2.0F, 0.5F, 4.0F, 0.0F, 3.0F};
    out.add("layer1.weight", {2, 3}, weights).value(); // raw: can be viewed without a copy
    out.add("layer1.weight.packed", {2, 3}, weights, ztensor::store().zstd(3).digest(ztensor::digest::sha256)).value();

    std::vector<ztensor::bfloat16> halves;
    for (const float weight : weights) {
        halves.emplace_back(weight);
    }
    out.add("layer1.weight.bf16", {2, 3}, halves, ztensor::store().digest(ztensor::digest::crc32c)).value();

    // [[0, 7, 0], [8, 0, 9]]
    out.add_csr("mask", {2, 3}, std::vector<float>{7, 8, 9}, std::vector<std::uint64_t>{1, 0, 2},
                std::vector<std::uint64_t>{0, 1, 3})
        .value();

    // eight 4-bit weights in one word, two groups of four
    const std::vector<std::int32_t> packed = {0x76543210};
    const std::vector<ztensor::float16> scales = {ztensor::float16(0.5F), ztensor::float16(0.25F)};
    const std::vector<ztensor::float16> zeros = {ztensor::float16(2.0F), ztensor::float16(6.0F)};
    out.add_quantized("q_proj", {1, 8}, {4, 4, "8_per_i32"}, packed, scales, zeros).value();

    // an object of a format of your own, with its own parts and attributes
    out.add_object("adapter", ztensor::object_draft("lora_pair", {2, 3})
                                  .component("up", std::vector<float>{1, 2})
                                  .component("down", std::vector<float>{1, 2, 3})
                                  .attributes(ztensor::attributes().set("rank", 1).set("alpha", 16.0)))
        .value();

    auto stream = out.stream("embedding", {1000, 16}, ztensor::dtype::f32).value(); // larger than memory, in pieces
    for (int row = 0; row < 1000; ++row) {
        stream.append(std::vector<float>(16, static_cast<float>(row))).value();
    }
    stream.finish().value();

    out.finish().value(); // manifest, footer, sync, rename: now the file is there, whole
}

} // namespace

int main(int argc, char** argv) {
    const std::string path = argc > 1 ? argv[1] : "saved_model.zt";
    try {
        save(path);
        const auto model = ztensor::reader::open(path).value();
        const auto q_proj = ztensor::quantized_view::from(model.find("q_proj").value()).value();
        const auto mask = ztensor::csr_view<float>::from(model.find("mask").value()).value();
        std::cout << path << ": " << model.size() << " objects; row 7 of the embedding starts with "
                  << model["embedding"].rows(7, 8).read<float>().value().front() << ", the last quantized weight is "
                  << q_proj.dequantize().value().back() << ", the mask has " << mask.entry_count() << " entries\n";
        if (!std::cout.flush()) { // a full disk shows no earlier
            std::cerr << "can't write to the standard output\n";
            return 1;
        }
    } catch (const ztensor::exception& e) {
        std::cerr << e.what() << '\n';
        return 1;
    }
}
