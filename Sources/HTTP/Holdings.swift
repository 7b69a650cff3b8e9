/// A connection's share of each budget.
struct Holdings {
    /// Share of the body budget for the body being read.
    var body = 0
    /// Share of the body budget for pipelined requests that wait between turns.
    var waiting = 0
    var head = 0
    var answer = 0
    /// Room for an answer, reserved before the answer was promised.
    var reserved: ByteShare?
}
