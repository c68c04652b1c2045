// A channel whose receiver takes nothing.
use std::sync::mpsc;

fn message(number: usize) -> Vec<u8> {
    vec![number as u8 | 1; 20_000] // LEAK
}

fn main() {
    let (sender, receiver) = mpsc::channel();
    for number in 0..1000 {
        sender.send(message(number)).unwrap();
    }
    std::mem::forget(receiver);
}
