// SPDX-License-Identifier: MIT
//
// load_model [FILE [OUT]]: the main job, on a real model. Opens a file, lists its tensors, views the raw ones where
// they lie, decompresses the others, verifies every digest, then writes a new file and reads it back.
#include <ztensor/ztensor.hpp>

#include <algorithm>
#include <iostream>
#include <string>
#include <vector>

namespace {

/// Largest magnitude of some weights.
float peak(ztensor::span<const float> weights) {
    float largest = 0;
    for (const float weight : weights) {
        largest = std::max(largest, weight < 0 ? -weight : weight);
    }
    return largest;
}

void list(const ztensor::reader& model) {
    for (const ztensor::object_view object : model) { // no byte of a tensor is touched
        std::cout << "  " << object.name() << ' ' << object.shape() << ' ' << object.format() << '\n';
    }
}

void use(const ztensor::reader& model) {
    for (const ztensor::object_view object : model) {
        if (const auto weights = object.view<float>()) { // zero-copy: points into the mapped file
            std::cout << "  viewed " << object.name() << ": peak " << peak(*weights) << '\n';
        } else if (const auto copy = object.read_as<float>()) { // compressed, or of another type
            std::cout << "  read   " << object.name() << ": peak " << peak(*copy) << " ("
                      << ztensor::name(weights.error().code()) << ")\n";
        } else {
            std::cout << "  left   " << object.name() << ": " << copy.error() << '\n';
        }
    }
}

void save(const ztensor::reader& model, const std::string& path) {
    auto out = ztensor::writer::create(path).value(); // nothing stands at `path` until finish()
    out.attributes(ztensor::attributes().set("made_by", "load_model")).value();
    for (const ztensor::object_view object : model) {
        if (const auto weights = object.read_as<float>()) {
            out.add(object.name(), object.shape(), *weights, ztensor::store().zstd().digest(ztensor::digest::sha256))
                .value();
        }
    }
    out.finish().value();
}

} // namespace

int main(int argc, char** argv) {
    const std::string path = argc > 1 ? argv[1] : "tests/corpus/golden/silero-vad-16k.zt";
    const std::string copy_path = argc > 2 ? argv[2] : "load_model_copy.zt";
    try {
        const auto model = ztensor::reader::open(path).value();
        std::cout << path << ": " << model.size() << " objects, zTensor " << model.version() << '\n';
        list(model);
        std::cout << "\nusing them:\n";
        use(model);

        const ztensor::verification digests = model.verify().value();
        std::cout << "\ndigests: " << digests.verified << " verified, " << digests.mismatches.size() << " damaged, "
                  << digests.absent + digests.unsupported << " without one that can be checked\n";

        save(model, copy_path);
        const auto copy = ztensor::reader::open(copy_path).value();
        std::cout << "\nwrote " << copy_path << " and read it back: " << copy.size() << " objects, "
                  << copy.verify().value().verified << " digests verified, made by "
                  << copy.attributes().text("made_by").value() << '\n';
        if (!std::cout.flush()) { // a full disk shows no earlier
            std::cerr << "can't write to the standard output\n";
            return 1;
        }
        return digests.ok() ? 0 : 1;
    } catch (const ztensor::exception& e) {
        std::cerr << e.what() << '\n';
        return 1;
    }
}
