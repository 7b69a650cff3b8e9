import Queue

/// The form in an atomic.
extension QueueAdmission {
    var code: UInt8 {
        switch self {
        case .open: 0
        case .full: 1
        case .diskFull: 2
        case .failing: 3
        case .stopping: 4
        case .destinationFull: 5
        case .tooManyLogstores: 6
        case .tooManyStreams: 7
        case .tooManyStreamsOfDestination: 8
        case .tooManyStreamsOfSender: 9
        }
    }

    init(code: UInt8) {
        self =
            switch code {
            case 0: .open
            case 1: .full
            case 2: .diskFull
            case 3: .failing
            case 5: .destinationFull
            case 6: .tooManyLogstores
            case 7: .tooManyStreams
            case 8: .tooManyStreamsOfDestination
            case 9: .tooManyStreamsOfSender
            default: .stopping
            }
    }
}
