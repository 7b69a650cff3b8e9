import Glibc

/// What a server takes, from what it took between refusals.
///
/// At a refusal its account is empty, whatever it saves up in between. So what it took from one refusal
/// to the next, divided by the time, is its rate: exact but for one request, and too low only when it
/// could not save up any more.
struct PaceEstimate: Equatable {
    private var units = 0.0
    private var seconds = 0.0

    var rate: Double? { seconds > 0 && units > 0 ? units / seconds : nil }

    /// Adds what lies between two refusals; what is older than some `memory` fades.
    mutating func add(_ units: Double, in seconds: Double, memory: Double) {
        let weight = exp(-seconds / memory)
        self.units = self.units * weight + units
        self.seconds = self.seconds * weight + seconds
    }
}
