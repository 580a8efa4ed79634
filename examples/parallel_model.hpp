// SPDX-License-Identifier: MIT
//
// The model of parallel_save and parallel_load: which rank has what of it, and what the numbers are.
#ifndef ZTENSOR_EXAMPLES_PARALLEL_MODEL_HPP
#define ZTENSOR_EXAMPLES_PARALLEL_MODEL_HPP

#include <ztensor/mpi.hpp>

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <vector>

constexpr int layers = 8;

/// One tensor of a layer, and the dimension that ranks of a stage share; -1 if each has all of it.
struct tensor {
    const char* name;
    std::uint64_t rows;
    std::uint64_t columns; ///< 0: it has rows alone
    int cut;

    [[nodiscard]] ztensor::shape shape() const {
        return columns != 0 ? ztensor::shape{rows, columns} : ztensor::shape{rows};
    }
};
const tensor tensors_of_layer[] = {{"up.weight", 128, 64, 0}, {"down.weight", 64, 128, 1}, {"norm.weight", 64, 0, -1}};

inline std::string name_of(int layer, const tensor& of) {
    return "layers." + std::to_string(layer) + "." + of.name;
}
inline bool is_whole(const tensor& of) {
    return of.cut < 0;
}

/// Where a rank stands: which layers its stage has, and which part of them is its own.
struct place {
    int rank = 0;
    int ranks = 1;
    int tensor_rank = 0;
    int tensor_ranks = 1; ///< that share the layers of a stage
    int first_layer = 0;
    int last_layer = layers;
};

/// Of as many tensor-parallel ranks as the text says, if there are so many.
inline place place_of_rank(MPI_Comm comm, const char* tensor_parallel) {
    place here;
    MPI_Comm_rank(comm, &here.rank);
    MPI_Comm_size(comm, &here.ranks);
    here.tensor_ranks = std::atoi(tensor_parallel);
    if (here.tensor_ranks < 1 || here.ranks % here.tensor_ranks != 0) {
        here.tensor_ranks = 1;
    }
    const int stages = here.ranks / here.tensor_ranks;
    const int stage = here.rank / here.tensor_ranks;
    here.tensor_rank = here.rank % here.tensor_ranks;
    const ztensor::mpi::part mine = ztensor::mpi::slice_of({layers}, stage, stages, 0);
    here.first_layer = static_cast<int>(mine.ranges()[0].begin);
    here.last_layer = static_cast<int>(mine.ranges()[0].end);
    return here;
}

inline ztensor::mpi::part part_of(const tensor& of, const place& here) {
    return is_whole(of) ? ztensor::mpi::slice_of(of.shape(), 0, 1, 0)
                        : ztensor::mpi::slice_of(of.shape(), here.tensor_rank, here.tensor_ranks,
                                                 static_cast<std::size_t>(of.cut));
}

/// Made up, but no two of a layer are the same.
inline std::vector<float> numbers_of(int layer, const tensor& of, const ztensor::mpi::part& part) {
    const ztensor::index_range rows = part.ranges()[0];
    const ztensor::index_range columns = of.columns != 0 ? part.ranges()[1] : ztensor::index_range{0, 1};
    std::vector<float> numbers;
    for (std::uint64_t i = rows.begin; i < rows.end; ++i) {
        for (std::uint64_t j = columns.begin; j < columns.end; ++j) {
            numbers.push_back(static_cast<float>(i * of.columns + j) + 0.125f * static_cast<float>(layer));
        }
    }
    return numbers;
}

#endif
