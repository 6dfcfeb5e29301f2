//! Kills, damage, and a disk that is full.

mod crash;
mod damage;
mod disk_full;
mod small_disk;
