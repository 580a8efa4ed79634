// SPDX-License-Identifier: MIT
//
// What the peers of the benchmark take for one operation, as the median of some rounds in microseconds, on standard
// output: peers OPERATION FILE ROUNDS.
use std::time::Instant;

fn median(mut micros: Vec<f64>) -> f64 {
    micros.sort_by(|a, b| a.partial_cmp(b).unwrap());
    micros[micros.len() / 2]
}

fn timed<T>(rounds: usize, mut work: impl FnMut() -> T) -> f64 {
    let mut micros = Vec::new();
    for _ in 0..rounds {
        let start = Instant::now();
        let kept = work();
        micros.push(start.elapsed().as_secs_f64() * 1e6);
        drop(kept);
    }
    median(micros)
}

fn main() {
    let arguments: Vec<String> = std::env::args().collect();
    let (operation, path) = (arguments[1].as_str(), &arguments[2]);
    let rounds: usize = arguments[3].parse().unwrap();
    let micros = match operation {
        "ztensor-open" => timed(rounds, || ztensor::Reader::open_mmap(path).unwrap()),
        "safetensors-open" => {
            let bytes = std::fs::read(path).unwrap();
            timed(rounds, || safetensors::SafeTensors::read_metadata(&bytes).unwrap())
        }
        "safetensors-load" => timed(rounds, || {
            let file = std::fs::File::open(path).unwrap();
            let bytes = unsafe { memmap2::Mmap::map(&file).unwrap() };
            let tensors = safetensors::SafeTensors::deserialize(&bytes).unwrap();
            tensors.iter().map(|(_, tensor)| tensor.data().to_vec()).collect::<Vec<_>>()
        }),
        _ => panic!("an unknown operation"),
    };
    println!("{micros}");
}
