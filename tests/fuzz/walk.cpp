// SPDX-License-Identifier: MIT
#include "fuzz/walk.hpp"

#include "fuzz/fuzzing.hpp"

#include <ztensor/json.hpp>
#include <ztensor/ztensor.hpp>

#include <algorithm>
#include <complex>
#include <cstring>
#include <functional>
#include <vector>

namespace fuzzing {
namespace {

constexpr std::size_t most_objects = 32; // an input of a thousand objects says no more than one of these
constexpr std::size_t most_components = 8;

/// `inner` lies in `outer`; an empty one may lie anywhere.
bool lies_in(ztensor::bytes_view outer, const void* inner, std::size_t size) {
    const auto* const start = static_cast<const std::byte*>(inner);
    const std::less_equal<const std::byte*> not_behind;
    return size == 0 || (not_behind(outer.begin(), start) && not_behind(start + size, outer.end()));
}

/// Bit for bit, NaNs included.
template <class First, class Second>
bool are_same(const First& first, const Second& second) {
    return first.size() == second.size() &&
           (first.empty() || std::memcmp(first.data(), second.data(), first.size() * sizeof(*first.data())) == 0);
}

template <class T>
void view_and_read(ztensor::bytes_view content, const ztensor::component_view& component) {
    const auto view = component.view<T>();
    const auto elements = component.read<T>();
    if (view) {
        require(lies_in(content, view->data(), view->size_bytes()), "a view lies in the file");
        require(view->size_bytes() == component.stored_bytes(), "a view is of the whole component");
    }
    if (view && elements) {
        require(are_same(*view, *elements), "what is read is what is viewed");
    }
    if (elements) {
        std::vector<T> memory(elements->size());
        require(component.read_into(memory).has_value(), "what can be read can be read into memory of its size");
        require(are_same(memory, *elements), "read and read_into give the same");
    }
}

void walk_attributes(const ztensor::attributes_view& attributes) {
    std::size_t count = 0;
    for (const ztensor::attribute& each : attributes) {
        require(attributes.contains(each.key), "an attribute that is there is found");
        static_cast<void>(attributes.integer(each.key).has_value() + attributes.unsigned_integer(each.key).has_value() +
                          attributes.number(each.key).has_value() + attributes.boolean(each.key).has_value() +
                          attributes.text(each.key).has_value() + attributes.byte_string(each.key).has_value());
        if (++count == most_objects) {
            break; // each is found by passing those before it
        }
    }
    static_cast<void>(ztensor::to_json(attributes));
}

void walk_component(ztensor::bytes_view content, const ztensor::component_view& component) {
    const ztensor::result<ztensor::bytes_view> stored = component.bytes();
    const bool may_be_made = component.offset() >= content.size(); // of a file of another format: they lie nowhere
    const bool is_elsewhere = !component.shard().empty();
    require(stored.has_value() || may_be_made || is_elsewhere, "stored bytes of a file in memory are lent");
    require(!stored || lies_in(content, stored->data(), stored->size()), "stored bytes lie in the file");
    const auto decoded = component.read<std::byte>();
    if (decoded) {
        require(decoded->size() == component.decoded_bytes().value_or(decoded->size()), "decoded is what was stated");
        require(decoded->size() <= std::max<std::uint64_t>(max_decoded_bytes, component.stored_bytes()),
                "nothing is decoded beyond the limit");
    }
    view_and_read<std::uint8_t>(content, component);
    view_and_read<std::int16_t>(content, component);
    view_and_read<float>(content, component);
    view_and_read<std::uint64_t>(content, component);
    view_and_read<ztensor::bfloat16>(content, component);
    static_cast<void>(component.view<std::complex<float>>());
    static_cast<void>(component.read<bool>());
    static_cast<void>(component.load<double>());
    static_cast<void>(component.read_little_endian());
    const auto singles = component.read_as<float>();
    const auto doubles = component.read_as<double>();
    const bool is_too_large = !doubles && doubles.error().code() == ztensor::errc::limit_exceeded; // twice the bytes
    require(!singles || is_too_large || (doubles && singles->size() == doubles->size()),
            "what converts to float converts to double");
    const auto verified = component.verify();
    require(!verified || *verified != ztensor::digest_state::absent || !component.digest().is_present(),
            "a digest that is there is looked at");
}

template <class T>
void read_parts(const ztensor::object_view& object) {
    const auto whole = object.read<T>();
    const ztensor::shape shape = object.shape();
    if (shape.rank() == 0 || shape[0] == 0) {
        return;
    }
    const auto rows = object.rows(0, shape[0]).read<T>();
    const bool is_one_for_each = whole && whole->size() == object.element_count(); // several may share a byte
    require(!is_one_for_each || (rows && are_same(*rows, *whole)), "all rows are the whole");
    static_cast<void>(object.rows(shape[0] / 2, shape[0]).read<T>());
    std::vector<ztensor::index_range> ranges;
    for (const std::uint64_t size : shape) {
        ranges.push_back({size / 3, size - size / 4});
    }
    const auto part = object.slice(ztensor::slice(ranges)).template read<T>();
    require(!part || !whole || part->size() <= whole->size(), "a slice is no larger than the whole");
    ranges.back().end += 1 + shape[0];
    static_cast<void>(object.slice(ztensor::slice(ranges)).template read<T>());
}

/// All dense objects by one plan, in bytes: it gives what read gives, or says why not.
void load_everything(const ztensor::reader& file) {
    const auto all = ztensor::read_all(file, ztensor::load_options().threads(1).max_staging_bytes(max_decoded_bytes));
    if (!all) {
        return;
    }
    std::size_t count = 0;
    for (const ztensor::loaded_tensor& each : *all) {
        const auto alone = each.object.read<std::byte>();
        require(alone.has_value(), "what a plan reads can be read alone");
        if (++count == most_objects) {
            return;
        }
    }
}

} // namespace

void walk_layouts(const ztensor::object_view& object) {
    const auto csr = ztensor::csr_view<float>::from(object);
    if (csr) {
        std::uint64_t entries = 0;
        csr->for_each([&](const ztensor::csr_entry<float>& entry) {
            require(entry.row < csr->rows() && entry.column < csr->columns(), "an entry lies in the matrix");
            ++entries;
        });
        require(entries == csr->entry_count(), "every entry is visited");
        static_cast<void>(csr->is_sorted());
        const auto dense = csr->to_dense(max_decoded_bytes);
        static_cast<void>(csr->to_coo());
        require(!dense || ztensor::csr_view<float>::read(object).has_value() ||
                    ztensor::csr_view<float>::read(object).error().code() == ztensor::errc::digest_mismatch,
                "what can be borrowed can be read");
        static_cast<void>(ztensor::csr_view<float>::from_rows(object, 0, csr->rows() / 2));
    }
    static_cast<void>(ztensor::csr_view<std::int8_t>::read(object));
    static_cast<void>(ztensor::csr_view<std::byte>::from(object));
    const auto coo = ztensor::coo_view<float>::from(object);
    if (coo) {
        static_cast<void>(coo->to_dense(max_decoded_bytes));
        static_cast<void>(coo->to_csr(max_decoded_bytes));
    }
    static_cast<void>(ztensor::coo_view<std::byte>::read(object));
    const auto quantized = ztensor::quantized_view::from(object);
    if (quantized) {
        const auto weights = quantized->unpack();
        const auto numbers = quantized->dequantize();
        require(!weights || weights->size() == object.element_count(), "a weight for each element");
        require(!numbers || numbers->size() == object.element_count(), "a number for each element");
    }
}

void walk(ztensor::bytes_view content, const ztensor::reader& file) {
    walk_attributes(file.attributes());
    std::size_t objects = 0;
    for (const ztensor::object_view object : file) {
        require(file.find(object.name()).has_value(), "an object that is there is found");
        require(object.shape().rank() <= ztensor::max_rank, "a shape is of a rank that is allowed");
        walk_attributes(object.attributes());
        std::size_t components = 0;
        for (const ztensor::component_view component : object) {
            walk_component(content, component);
            if (++components == most_components) {
                break;
            }
        }
        read_parts<float>(object);
        read_parts<std::uint8_t>(object);
        walk_layouts(object);
        if (++objects == most_objects) {
            break;
        }
    }
    static_cast<void>(file.contains("no such object"));
    load_everything(file);
    static_cast<void>(file.verify(1));
}

void walk_both(ztensor::bytes_view content, const ztensor::result<ztensor::reader>& file,
               const ztensor::result<ztensor::reader>& source) {
    require(file.has_value() == source.has_value(), "a file in memory and a source of it open alike");
    if (!file) {
        require(!file.error().what().empty(), "a refusal says why");
        require(file.error().code() == source.error().code(), "a file in memory and a source are refused alike");
        return;
    }
    walk(content, *file);
    std::size_t count = 0;
    for (const ztensor::object_view object : *source) {
        const auto here = file->find(object.name())->read<std::byte>();
        const auto there = object.read<std::byte>();
        require(here.has_value() == there.has_value() && (!here || *here == *there),
                "positional reads give what memory holds");
        if (++count == 8) {
            break;
        }
    }
}

} // namespace fuzzing
