# Programs that keep objects in different ways: ruby leaks.rb KIND DUMP
require "objspace"

class Job
  def initialize(number)
    @payload = "payload #{number} " * 20
  end
end

class Registry
  JOBS = []
end

class Pool
  def initialize(count)
    @jobs = Array.new(count) { |number| Job.new(number) }
  end
end

case ARGV[0]
when "constant" then 3000.times { |number| Registry::JOBS << Job.new(number) }
when "threads"
  3.times do
    Thread.new do
      pool = Pool.new(600)
      sleep
      pool
    end
  end
  sleep 1
when "nothing" then nil
else abort ARGV[0]
end
GC.start
File.open(ARGV[1], "w") { |file| ObjectSpace.dump_all(output: file) }
