/// Messages from gateway to gateway, over the engine. They are lost when a gateway does not listen
/// at that moment, and nothing is kept of them, so only what may be missing goes this way.
///
/// A message travels in parts; see `MessageParts`. Calls may come from any thread.
package protocol ClusterMessenger: Sendable {
    /// What one part may have.
    var partBytesMax: Int { get }

    /// Why this gateway cannot listen at this moment; nil: it can.
    var problem: String? { get }

    /// Takes what the others send to this gateway or to all, until `stop`, also over lost
    /// connections. What it sends to all may come to itself too. The receiver is called on a thread
    /// of the engine, and must not wait.
    func listen(_ receiver: @escaping @Sendable ([UInt8]) -> Void) throws(CommitLogError)

    /// Sends the parts of a message to the gateways of a node; nil: to all. May block for as long
    /// as the engine needs to take it.
    func send(_ parts: [[UInt8]], to node: String?) throws(CommitLogError)

    /// Ends the listening. No call of the receiver comes later.
    func stop()
}
