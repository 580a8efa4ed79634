// SPDX-License-Identifier: MIT
//
// engine [FOLDER]: what an inference engine does with its weights. Names become the fields of a struct, all tensors
// are read at once into one arena of floats, whatever they are stored as, and a checkpoint is saved.
#include <ztensor/ztensor.hpp>

#include <cstddef>
#include <iostream>
#include <string>
#include <vector>

namespace {

struct weights {
    ztensor::span<float> embedding, up, down, head; // each a part of the arena
};

struct parameter {
    const char* name;
    std::size_t rows, columns;
    ztensor::span<float> weights::*field;
};
const parameter parameters[] = {
    {"embedding.weight", 256, 64, &weights::embedding},
    {"layer.up.weight", 64, 256, &weights::up},
    {"layer.down.weight", 256, 64, &weights::down},
    {"head.weight", 256, 64, &weights::head},
};

/// Stands in for the trainer: two bytes an element, and a head that is the embedding under another name.
void save_model(const std::string& path, bool is_complete) {
    const std::vector<ztensor::bfloat16> trained(256 * 64, ztensor::bfloat16(0.5F));
    auto out = ztensor::writer::create(path).value();
    out.attributes(ztensor::attributes().set("license", "MIT").set("mean", {0.5, 0.25})).value();
    out.add("embedding.weight", {256, 64}, trained, {}, ztensor::attributes().set("unit", "mV")).value();
    if (is_complete) {
        out.add("layer.up.weight", {64, 256}, trained, ztensor::store().zstd()).value();
        out.add("layer.down.weight", {256, 64}, trained).value();
        out.add_tied("head.weight", "embedding.weight").value();
    }
    out.finish().value();
}

ztensor::result<weights> load(const ztensor::reader& model, ztensor::span<float> arena) {
    weights loaded;
    ztensor::load_plan plan(model);
    for (const auto& [name, rows, columns, field] : parameters) {
        loaded.*field = arena.first(rows * columns);
        arena = arena.subspan(rows * columns);
        plan.add_as(name, loaded.*field); // converted from bf16, or any other type
    }
    const auto show = [](const ztensor::load_progress& now) {
        std::cout << "loaded " << now.bytes_done << " of " << now.bytes_total << " bytes\n";
        return true; // false would cancel
    };
    return plan.run(ztensor::load_options().progress(show)).transform([&](const auto&) { return loaded; });
}

} // namespace

int main(int argument_count, char** arguments) {
    const std::string folder = argument_count > 1 ? std::string(arguments[1]) + "/" : "";
    save_model(folder + "model.zt", true);
    save_model(folder + "incomplete.zt", false);

    std::vector<float> arena(4 * 256 * 64);
    const auto incomplete = ztensor::reader::open(folder + "incomplete.zt").value();
    std::cout << "as it should be: " << load(incomplete, arena).error() << '\n'; // all that is missing, together

    const auto model = ztensor::reader::open(folder + "model.zt").value();
    const weights loaded = load(model, arena).value();
    std::cout << "tied: " << model["head.weight"].same_storage_as(model["embedding.weight"]) << '\n';

    auto checkpoint = ztensor::writer::create(folder + "checkpoint.zt").value();
    for (const auto& [name, rows, columns, field] : parameters) {
        checkpoint.add(name, {rows, columns}, loaded.*field).value();
    }
    checkpoint.finish().value();
}
